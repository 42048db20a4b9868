// Making names from files safe to paint.
#include "views/canvas/plain_text.h"

namespace nabla::views {
namespace {

constexpr std::size_t kEndBytes = 400; // enough for 100 characters of four bytes each

bool isReordering(char16_t c) {
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c;
}

bool isLineEnd(char16_t c) {
    return c == 0x2028 || c == 0x2029;
}

} // namespace

QString plainText(std::string_view utf8) {
    QString text;
    if (utf8.size() > 2 * kEndBytes) {
        // Cut before decoding: a name may have a million characters. A character cut in two decodes to U+FFFD.
        const QString head = QString::fromUtf8(utf8.data(), kEndBytes);
        const QString tail = QString::fromUtf8(utf8.data() + utf8.size() - kEndBytes, kEndBytes);
        text = head.left(kLongestText / 2) + u'…' + tail.right(kLongestText / 2 - 1);
    } else {
        text = QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
        if (text.size() > kLongestText)
            text = text.left(kLongestText / 2) + u'…' + text.right(kLongestText / 2 - 1);
    }
    for (QChar& c : text) {
        if (c.category() == QChar::Other_Control || isReordering(c.unicode()) || isLineEnd(c.unicode()))
            c = QChar(QChar::ReplacementCharacter);
    }
    return text;
}

QString elided(std::string_view utf8, const QFontMetricsF& metrics, double width, Qt::TextElideMode mode) {
    if (utf8.empty() || width <= 0)
        return {};
    return metrics.elidedText(plainText(utf8), mode, width);
}

} // namespace nabla::views
