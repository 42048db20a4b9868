œJœP5
13 11
255
BBBBOOOOBBBB«BBBBOOOOBBBB«BBBBOOOOBBBB«€€€€ŒŒŒŒVVVV‰€€€€ŒŒŒŒVVVV‰€€€€ŒŒŒŒVVVV‰xxxxŠŠŠŠ[[[[4xxxxŠŠŠŠ[[[[4xxxxŠŠŠŠ[[[[4””””©©©©~~~~¸””””©©©©~~~~¸