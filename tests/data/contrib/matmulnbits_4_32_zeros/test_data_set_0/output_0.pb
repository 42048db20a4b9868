By0JxDIÚAŽ¶dÁu‰D?ßG%A‹Ö^ÁTáÉÀä»EAêÚR@>ëÁ.2OÁÿ9RÁ2m@ÂíD@5elAìÁúépAƒ†AÌÂ$AAÇÂQ¯ÁŠÁ†AWŒËAKqAcÊgÂtÁÛœ.Abñ
Áš¢Àº7ÙAkjÁ