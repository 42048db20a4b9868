// Names from files as text that cannot harm the picture: one line, no controls, no reordering, short.
#pragma once

#include <string_view>

#include <QFontMetricsF>
#include <QString>

namespace nabla::views {

/// At most kLongestText characters: the middle of a longer text is replaced by an ellipsis. Control characters, line
/// ends and bidirectional overrides become U+FFFD, so that a name reads in the order of its characters.
QString plainText(std::string_view utf8);
constexpr int kLongestText = 200;

/// plainText() cut to `width` in the middle (names) or at the end (everything else).
QString elided(std::string_view utf8, const QFontMetricsF& metrics, double width, Qt::TextElideMode mode);

} // namespace nabla::views
