// SPDX-License-Identifier: MIT
#include "anonymous.hpp"

#include "report.hpp"
#include "tracing.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

static int remove_anonymous(const std::string& path)
{
    if (::unlink(path.c_str()) == 0)
        say("removed the anonymous enabling in %s", path.c_str());
    else if (errno != ENOENT)
        die(nullptr, "failed to remove %s: %s", path.c_str(), std::strerror(errno));
    return 0;
}

// Writes a new file and renames it to `path` at the end, so that the kernel module
// never finds an incomplete file.
int save_anonymous(dtrace_hdl_t* session, const Arguments& args)
{
    const std::string path = args.output.empty() ? DTRACE_ANON_FILE : args.output;
    if (args.pieces.empty())
        return remove_anonymous(path);
    Tracing tracing(session, args, stdout);
    tracing.compile();
    if (args.output.empty())
        ::mkdir(path.substr(0, path.rfind('/')).c_str(), 0755);
    const std::string begun = path + ".new";
    FILE* file = std::fopen(begun.c_str(), "we");
    if (file == nullptr)
        die(nullptr, "failed to open %s: %s", begun.c_str(), std::strerror(errno));
    ::fchmod(fileno(file), 0600);
    int saved = dtrace_anon_save(session, file);
    int written = std::fclose(file);
    if (saved != 0 || written != 0 || std::rename(begun.c_str(), path.c_str()) != 0) {
        const int error = errno;
        ::unlink(begun.c_str());
        if (saved != 0)
            die(session, "failed to save the anonymous enabling");
        die(nullptr, "failed to write %s: %s", path.c_str(), std::strerror(error));
    }
    say("saved anonymous enabling in %s", path.c_str());
    return 0;
}
