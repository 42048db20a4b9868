2abc2ab2ABC2abc
2日本