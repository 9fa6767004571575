// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>

namespace dt {

// Returns an error without the prefix of Error::during(doing), because the caller of
// this library adds the same prefix.
inline Error without_prefix(const std::string& doing, const Error& error)
{
    const std::string prefix = doing + ": ";
    return error.text.starts_with(prefix)
               ? Error{error.code, error.text.substr(prefix.size()), error.sys}
               : error;
}

} // namespace dt
