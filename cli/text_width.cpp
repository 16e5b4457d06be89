// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>

#include "cli/canvas.hpp"

namespace cli {
namespace {

/// Advance widths of DejaVu Sans 2.37 from the blank to the tilde, in thousandths of the font's size.
constexpr std::array<std::uint16_t, 95> ascii_widths{
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,  //
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,  //
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,  //
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,  //
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};

/// Bold letters are wider by this on average.
constexpr double bold_factor = 1.11;

/// Returns a character's width in thousandths of the font's size. Of characters outside ASCII, those that the command
/// itself writes are known.
double width_of(char32_t character) {
  if (character >= U' ' && character <= U'~') return ascii_widths[character - U' '];
  switch (character) {
    case U'\u202f': return 200;  // narrow no-break space
    case U'\u00b7': return 318;  // middle dot
    case U'\u00b9':
    case U'\u00b2':
    case U'\u00b3': return 401;
    case U'\u207b': return 528;  // superscript minus
    case U'\u2212':
    case U'\u221e':
    case U'\u00b1': return 838;  // minus, infinity, plus-minus
    default: break;
  }
  if (character >= U'\u2070' && character <= U'\u2079') return 401;
  if (character < U'\u0370') return 650;
  return character < U'\u1100' ? 750 : 1000;
}

}  // namespace

double text_width(const std::string& text, const text_look& look) {
  double thousandths = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const unsigned num_bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    char32_t character = num_bytes == 1 ? first : first & (0xffU >> (num_bytes + 1));
    for (std::size_t k = i + 1; k < i + num_bytes && k < text.size(); ++k) {
      character = character << 6U | (static_cast<unsigned char>(text[k]) & 0x3fU);
    }
    thousandths += width_of(character);
    i += num_bytes;
  }
  return thousandths / 1000 * look.size * (look.is_bold ? bold_factor : 1);
}

}  // namespace cli
