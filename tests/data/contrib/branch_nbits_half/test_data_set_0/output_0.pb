
By0JдтiP═LнMбUЮдыT÷п╦яVO