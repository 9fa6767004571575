// SPDX-License-Identifier: MIT
// Implements the outputs to a stdio stream, a callback and a string.
//
// freopen() uses dup2() on the stream's descriptor, so that commands of system() write
// to the same file. freopen("") restores a duplicate of the original descriptor.
#include "libdtrace/consume/output.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

Result<Ok> Output::commit(const Piece& piece)
{
    if (text_.empty() && !failure_)
        return Ok{};
    if (!failure_)
        if (auto taken = take(text_, piece); !taken)
            failure_ = taken.error();
    text_.clear();
    if (failure_)
        return *failure_;
    return Ok{};
}

Result<Ok> Output::reopen(const std::string&)
{
    return Error{
        Code::unsupported,
        "freopen() does not work if the output goes to a callback or a string"};
}

Result<Ok> FileOutput::take(std::string_view text, const Piece&)
{
    if (fwrite_unlocked(text.data(), 1, text.size(), file_) != text.size())
        return errno_error("write output");
    return Ok{};
}

Result<Ok> FileOutput::flush()
{
    if (auto committed = commit(); !committed)
        return committed;
    if (std::fflush(file_) != 0)
        return errno_error("write output");
    return Ok{};
}

bool FileOutput::to_terminal() const
{
    return isatty(fileno(file_)) == 1;
}

Result<Ok> FileOutput::reopen(const std::string& path)
{
    if (auto flushed = flush(); !flushed)
        return flushed;
    int fd = fileno(file_);
    if (fd < 0)
        return Error{Code::unsupported,
                     "freopen() works only if the output has a file descriptor"};
    if (path.empty()) {
        if (original_ && dup2(original_.get(), fd) < 0)
            return errno_error("restore the original output");
        original_.reset();
        return Ok{};
    }
    Fd to(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!to)
        return errno_error("freopen " + path);
    if (!original_) {
        original_ = Fd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
        if (!original_)
            return errno_error("freopen " + path);
    }
    if (dup2(to.get(), fd) < 0)
        return errno_error("freopen " + path);
    return Ok{};
}

Result<Ok> FileOutput::truncate()
{
    if (auto flushed = flush(); !flushed)
        return flushed;
    int fd = fileno(file_);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return Ok{};
    if (ftruncate(fd, 0) != 0)
        return errno_error("truncate output");
    std::rewind(file_);
    return Ok{};
}

Result<Ok> HandlerOutput::take(std::string_view text, const Piece& piece)
{
    if (!handler_(text, piece))
        return Error{Code::invalid, "the buffered handler stopped the consumer"};
    return Ok{};
}

Result<Ok> StringOutput::take(std::string_view text, const Piece&)
{
    taken.append(text);
    return Ok{};
}

} // namespace dt
