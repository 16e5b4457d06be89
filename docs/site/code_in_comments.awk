# SPDX-License-Identifier: Apache-2.0
# Markdown takes indented lines of a comment for code where a blank line stands around them; headers do without.
{
  is_code = /^ *\/\/\/     /
  if (is_code != was_code && /^ *\/\/\//) print "///"
  print
  was_code = is_code
}
