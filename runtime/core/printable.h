// Makes text safe for a terminal: names come from files, and their bytes must not move the cursor,
// change colours, hide neighbouring text or reverse the line.
#pragma once

#include <cstddef>

namespace wick {

// The next piece of text: `bytes` of the input, to be printed unchanged where `escape` is empty,
// else as `escape`.
struct Printable {
  size_t bytes;
  char escape[8];
};
// Reads the next piece of `text`, of which `left` > 0 bytes remain. Line ends and tabs are shown.
// Escaped are the other C0 and C1 controls, DEL, the bidirectional controls and the line and
// paragraph separators (\u001b, which JSON reads as well), and bytes that are not UTF-8 (\xff).
Printable next_printable(const char* text, size_t left);

template <class String>
String printable(const String& text) {
  String shown;
  for (size_t at = 0; at < text.size();) {
    const Printable p = next_printable(text.data() + at, text.size() - at);
    if (p.escape[0] == '\0') {
      shown.append(text, at, p.bytes);
    } else {
      shown += p.escape;
    }
    at += p.bytes;
  }
  return shown;
}

}  // namespace wick
