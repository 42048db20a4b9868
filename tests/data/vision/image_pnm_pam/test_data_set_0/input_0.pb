êJêP7
WIDTH 13
HEIGHT 11
DEPTH 3
MAXVAL 255
TUPLTYPE RGB
ENDHDR
2EN2EN2EN2ENX‘X‘X‘X‘‰(p‰(p‰(p‰(p)Ó™2EN2EN2EN2ENX‘X‘X‘X‘‰(p‰(p‰(p‰(p)Ó™2EN2EN2EN2ENX‘X‘X‘X‘‰(p‰(p‰(p‰(p)Ó™ÜeÜeÜeÜe¾-¾-¾-¾-"k!"k!"k!"k!µ-ÜeÜeÜeÜe¾-¾-¾-¾-"k!"k!"k!"k!µ-ÜeÜeÜeÜe¾-¾-¾-¾-"k!"k!"k!"k!µ-°f‡°f‡°f‡°f‡ïu1ïu1ïu1ïu1£K)£K)£K)£K)ˆ_°f‡°f‡°f‡°f‡ïu1ïu1ïu1ïu1£K)£K)£K)£K)ˆ_°f‡°f‡°f‡°f‡ïu1ïu1ïu1ïu1£K)£K)£K)£K)ˆ_ö€?ö€?ö€?ö€?*Çó*Çó*Çó*Çóƒqìƒqìƒqìƒqì*æ˜ö€?ö€?ö€?ö€?*Çó*Çó*Çó*Çóƒqìƒqìƒqìƒqì*æ˜