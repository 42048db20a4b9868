// NABLA_ASSERT: a promise between our own functions. User input must never reach one.
#pragma once

namespace nabla::engine {
[[noreturn]] void assertionFailed(const char* expression, const char* file, int line, const char* why);
}

#define NABLA_ASSERT(expression, why)                                                                                  \
    (static_cast<bool>(expression) ? void(0) : ::nabla::engine::assertionFailed(#expression, __FILE__, __LINE__, why))
