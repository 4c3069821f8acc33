// Text for a terminal: a name comes from a file, and a file's bytes must not move the cursor,
// recolour the window, hide what stands beside them or turn the line round.
#pragma once

#include <cstddef>

namespace wick {

// What stands at `text`, of which `left` > 0 bytes are there: `bytes` of it, shown as they are
// where `escape` is empty, else as that.
struct Printable {
  size_t bytes;
  char escape[8];
};
// Line ends and tabs are shown. Escaped are the other controls of C0 and C1, DEL, the controls of
// writing direction, the separators of lines and paragraphs (\u001b, which JSON reads as well), and
// bytes that are no UTF-8 (\xff).
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
