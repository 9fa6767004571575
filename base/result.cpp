// Converts errno to an Error with the matching Code.
#include "base/result.hpp"

#include <cerrno>
#include <cstring>

namespace dt {

static Code code_of(int err)
{
    switch (err) {
    case ENOENT:
        return Code::not_found;
    case ESRCH:
        return Code::gone;
    case EPERM:
    case EACCES:
        return Code::permission;
    case EBUSY:
        return Code::busy;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return Code::limit;
    case EINVAL:
        return Code::invalid;
    default:
        return Code::io;
    }
}

Error errno_error(std::string_view doing, int err)
{
    return Error{code_of(err), std::string(doing) + ": " + std::strerror(err), err};
}

Error errno_error(std::string_view doing)
{
    return errno_error(doing, errno);
}

} // namespace dt
