// SPDX-License-Identifier: MIT
// Takes all rights from the calling process, which then parses files of hostile
// targets.
//
// After enter_jail(), the process has no capabilities, its memory is limited, and a
// seccomp filter permits only system calls that work on memory and on descriptors that
// the process already has. Any other system call ends the process. The calls that open
// a file or look one up by name are the exception: they call a JailBroker, which
// requests the file from dtrace. Libraries such as libdw can therefore open debug files
// as usual.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <string>

namespace dt {

class JailBroker {
public:
    virtual ~JailBroker() = default;
    // Returns the file, open for reading. Returns an empty Fd if it is not available.
    virtual Fd open_file(const char* path) = 0;
    // Returns the path of an open file. Returns "" if it is not available.
    virtual std::string path_of(int fd) = 0;
};

// Closes all descriptors except `kept`, and enters the jail. The broker must exist until
// the process exits. Returns errors of libseccomp and of setrlimit(2). A build with
// AddressSanitizer has no filter and no limit for memory, because the sanitizer needs
// more.
Result<Ok> enter_jail(int kept, JailBroker& broker);

} // namespace dt
