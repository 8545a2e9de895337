// The files of page/, compiled in.
#pragma once

namespace gradcts {

// With the markers {{style}}, {{data}}, {{views}} and {{script}}.
extern const char* const page_html;
extern const char* const page_style;
extern const char* const page_script;  // the scripts, in the order in which they are needed

}  // namespace gradcts
