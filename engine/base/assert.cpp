// Prints the broken promise and ends the program.
#include "engine/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace nabla::engine {

void assertionFailed(const char* expression, const char* file, int line, const char* why) {
    std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", file, line, expression, why);
    std::abort();
}

} // namespace nabla::engine
