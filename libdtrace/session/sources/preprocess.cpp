// SPDX-License-Identifier: MIT
#include "libdtrace/session/sources/preprocess.hpp"

#include "base/fd.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sstream>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dt {

// Makes lines that begin with `#!` empty.
static std::string without_interpreter(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        std::size_t first = line.find_first_not_of(" \t");
        if (first == line.npos || line.substr(first, 2) != "#!")
            out += line;
        text.remove_prefix(line.size());
        if (!text.empty()) {
            out += '\n';
            text.remove_prefix(1);
        }
    }
    return out;
}

// Replaces characters that a macro's name cannot contain.
static std::string as_word(std::string text)
{
    for (char& c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0)
            c = '_';
    return text;
}

static std::string hex(std::uint32_t n)
{
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", n);
    return text;
}

// GCC predefines these macros. In D, they can be names of modules.
constexpr std::array not_d = {"-Ulinux", "-Uunix"};

static std::vector<std::string> arguments_of(const Preprocessor& by,
                                             const std::string& name)
{
    utsname system{};
    uname(&system);
    // A set-uid program uses only the system's own preprocessor.
    const bool privileged = ::getauxval(AT_SECURE) != 0;
    std::vector<std::string> args{
        privileged ? "/usr/bin/cpp" : by.path, "-D__SUNW_D=1",
        "-D__SUNW_D_VERSION=" + hex(by.version), std::string("-D__") + system.sysname,
        std::string("-D__") + system.sysname + "_" + as_word(system.release)};
    args.insert(args.end(), not_d.begin(), not_d.end());
    if (by.dialect == 'c')
        args.emplace_back("-std=c11");
    else if (by.dialect == 's')
        args.emplace_back("-traditional-cpp");
    if (by.list_headers)
        args.emplace_back("-H");
    // the directory of the script, for `#include "name"`
    if (auto folder = std::filesystem::path(name).parent_path(); !folder.empty())
        args.insert(args.end(), {"-iquote", folder.string()});
    auto add = [&args](const char* flag, const std::vector<std::string>& values) {
        for (const std::string& value : values)
            args.push_back(flag + value);
    };
    add("-D", by.define);
    add("-U", by.undef);
    add("-I", by.incdir);
    std::istringstream more(by.arguments);
    for (std::string word; more >> word;)
        args.push_back(word);
    args.emplace_back("-");
    return args;
}

static Result<Fd> file_of(std::string_view text)
{
    Fd file(memfd_create("dtrace-cpp", MFD_CLOEXEC));
    if (!file)
        return errno_error("create an in-memory file for the preprocessor");
    // The preprocessor may reopen /dev/stdin, so the owner needs access.
    if (fchmod(file.get(), 0600) != 0)
        return errno_error("set the permissions of the preprocessor's in-memory file");
    for (std::size_t done = 0; done < text.size();) {
        ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return errno_error(
                "write the program to an in-memory file for the preprocessor");
        done += static_cast<std::size_t>(n);
    }
    lseek(file.get(), 0, SEEK_SET);
    return file;
}

static Result<std::string> text_in(const Fd& file)
{
    std::string text;
    lseek(file.get(), 0, SEEK_SET);
    char part[65536];
    for (ssize_t n; (n = ::read(file.get(), part, sizeof part)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno_error("read the preprocessor's output");
        text.append(part, static_cast<std::size_t>(n));
    }
    return text;
}

// Runs the preprocessor with only the user's rights, because it opens files that the
// program names. Returns the status from waitpid().
static Result<int> run(std::vector<std::string> args, int in, int out)
{
    std::vector<char*> argv;
    for (std::string& arg : args)
        argv.push_back(arg.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    pid_t pid = 0;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_RESETIDS);
    int error =
        posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return Error{error == ENOENT ? Code::not_found : Code::io,
                     "the preprocessor '" + args[0] +
                         "' cannot be run: " + std::strerror(error) +
                         (error == ENOENT
                              ? " (on Debian, apt install cpp; or name another "
                                "preprocessor with -x cpppath)"
                              : "")};
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

Result<std::string> preprocess(const Preprocessor& by, std::string_view text,
                               const std::string& name)
{
    // The line marker contains the script's name. "<program>" replaces names that would
    // need quoting in C.
    bool plain = std::none_of(name.begin(), name.end(), [](unsigned char c) {
        return c < ' ' || c == '"' || c == '\\';
    });
    const std::string marker =
        "# 1 \"" + (!plain || name.empty() ? "<program>" : name) + "\"";
    std::string first = marker + "\n";
    // __STDC__ is 0 in the dialects a and t. The flag 3 means "system header", in which
    // a redefinition causes no warning.
    if (by.dialect == 'a' || by.dialect == 't')
        first += "# 1 \"<stdc>\" 1 3\n#undef __STDC__\n#define __STDC__ 0\n" + marker +
                 " 2\n";
    auto in = file_of(first + without_interpreter(text));
    if (!in)
        return in.error();
    auto out = file_of("");
    if (!out)
        return out.error();
    auto status = run(arguments_of(by, name), in->get(), out->get());
    if (!status)
        return status.error();
    if (*status != 0)
        return Error{Code::invalid,
                     "the preprocessor '" + by.path + "' rejected the program"};
    return text_in(*out);
}

} // namespace dt
