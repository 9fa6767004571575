// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/jailed_file.hpp"

#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "process/regular_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace dt {

namespace fs = std::filesystem;

namespace {

// Limits of the requests that are posted together (ReaderProcess::post()).
constexpr std::size_t max_posted = 16;
constexpr std::size_t max_posted_bytes = 64 << 10;
constexpr const char* invalid_message =
    "its debug data made the reader send an invalid message";

// Returns whether the reader may open a path while it reads `source`. The reader may
// open files in these directories, which find_debug_file() and libdw search:
// - debug_folders(), also below the root of the source
// - the directory of the source, and the directory .debug in it
bool may_open(const fs::path& path, const ElfSource& source)
{
    if (in_debug_folder(path))
        return true;
    if (!source.root.empty() && path.native().starts_with(source.root + "/") &&
        in_debug_folder(path.native().substr(source.root.size())))
        return true;
    const fs::path folder = fs::path(source.root + source.path).parent_path();
    return source.path.find('/') != std::string::npos && folder.is_absolute() &&
           (path.parent_path() == folder || path.parent_path() == folder / ".debug");
}

Fd open_for_reader(const std::string& name, const ElfSource& source)
{
    const fs::path path = fs::path(name).lexically_normal();
    if (!path.is_absolute() || !may_open(path, source))
        return {};
    return open_regular(path);
}

} // namespace

JailedFile::~JailedFile()
{
    std::lock_guard lock(slot_->mutex());
    if (opened_in_ != 0 && opened_in_ == slot_->n_started())
        slot_->unused.push_back(number_);
}

Result<Ok> JailedFile::post(ReaderProcess& process, ReaderWord request,
                            const MessageWriter& arguments, int fd)
{
    if (!slot_->unused.empty()) {
        MessageWriter unused;
        unused.list(std::exchange(slot_->unused, {}));
        if (auto closed = process.call(reader_close, unused.body(), -1, {}); !closed)
            return closed.error();
    }
    MessageWriter body;
    body.put(number_).raw(arguments.body().data(), arguments.body().size());
    return process.post(request, body.body(), fd);
}

Result<ReaderMessage> JailedFile::finish(ReaderProcess& process)
{
    return process.finish(
        [this](const std::string& path) { return open_for_reader(path, *source_); });
}

Result<Ok> JailedFile::post_open(ReaderProcess& process)
{
    MessageWriter arguments;
    arguments.text(source_->path).text(source_->root);
    arguments.raw(source_->bytes.data(), source_->bytes.size());
    return post(process, reader_open, arguments, source_->fd.get());
}

Result<ReaderMessage> JailedFile::finish_open(ReaderProcess& process)
{
    auto reply = finish(process);
    if (reply)
        opened_in_ = slot_->n_started();
    return reply;
}

Error JailedFile::give_up(std::string why)
{
    trouble_ = std::move(why);
    return {Code::corrupt, source_->path + ": " + trouble_};
}

Result<ReaderMessage> JailedFile::try_call(ReaderWord request,
                                           const MessageWriter& arguments,
                                           bool may_repeat)
{
    if (!trouble_.empty())
        return Error{Code::corrupt, source_->path + ": " + trouble_};
    auto process = slot_->process(reopen_ == Reopen::allowed);
    if (!process)
        return process.error();
    if (opened_in_ != slot_->n_started() && reopen_ == Reopen::forbidden)
        return give_up("the process that read its debug data has ended");
    Result<ReaderMessage> reply = ReaderMessage();
    if (opened_in_ != slot_->n_started() || request == reader_open) {
        auto posted = post_open(**process);
        reply = posted ? finish_open(**process) : posted.error();
    }
    if (reply && request != reader_open) {
        auto posted = post(**process, request, arguments, -1);
        reply = posted ? finish(**process) : posted.error();
    }
    return handle_end(std::move(reply), **process, request, arguments, may_repeat);
}

// If the process has ended before it replied, repeats the request, or gives up.
Result<ReaderMessage> JailedFile::handle_end(Result<ReaderMessage> reply,
                                             ReaderProcess& process, ReaderWord request,
                                             const MessageWriter& arguments,
                                             bool may_repeat)
{
    if (reply)
        has_news_ = reply->has_news;
    if (reply || reply.error().code != Code::gone)
        return reply;
    if (may_repeat && !process.timed_out() && reopen_ == Reopen::allowed)
        return try_call(request, arguments, false);
    return give_up((process.timed_out() ? "it " : "its debug data ") +
                   process.why_ended());
}

Result<ReaderMessage> JailedFile::call(ReaderWord request,
                                       const MessageWriter& arguments)
{
    std::lock_guard lock(slot_->mutex());
    auto reply = try_call(request, arguments, true);
    // try_call() has recorded why the file is no longer read. An error of open() is
    // reported by its caller.
    if (!reply && trouble_.empty() && request != reader_open)
        failures_.push_back(reply.error().text);
    return reply;
}

// Sends the requests to open as many of the files as may be posted together. Returns
// their number.
std::size_t JailedFile::post_all(ReaderProcess& process,
                                 std::span<JailedFile* const> files)
{
    std::size_t n_bytes = 0, n_posted = 0;
    for (JailedFile* file : files) {
        const ElfSource& source = *file->source_;
        n_bytes += source.path.size() + source.root.size() + source.bytes.size();
        if ((n_posted != 0 && n_bytes > max_posted_bytes) || n_posted == max_posted ||
            !file->post_open(process))
            break;
        n_posted++;
    }
    return n_posted;
}

std::vector<Result<ElfFacts>> JailedFile::open_all(std::span<JailedFile* const> files)
{
    std::vector<Result<ElfFacts>> all;
    if (files.empty())
        return all;
    ReaderSlot& slot = *files.front()->slot_;
    std::lock_guard lock(slot.mutex());
    while (all.size() < files.size()) {
        const auto left = files.subspan(all.size());
        auto process = slot.process(true);
        const std::size_t n_posted = process ? post_all(**process, left) : 0;
        const std::uint64_t n_started = slot.n_started();
        if (n_posted == 0) // the process could not be started, or ended meanwhile
            all.push_back(
                left.front()->facts_in(left.front()->try_call(reader_open, {}, true)));
        // If a file ends the process, it is opened again alone, and the files after it
        // are posted again.
        for (std::size_t i = 0; i < n_posted && slot.n_started() == n_started &&
                                (i == 0 || !(*process)->ended());
             ++i)
            all.push_back(left[i]->facts_in(left[i]->handle_end(
                left[i]->finish_open(**process), **process, reader_open, {}, true)));
    }
    return all;
}

Result<ElfFacts> JailedFile::open()
{
    JailedFile* const file = this;
    return std::move(open_all({&file, 1}).front());
}

Result<ElfFacts> JailedFile::facts_in(const Result<ReaderMessage>& reply)
{
    if (!reply)
        return reply.error();
    MessageReader in(reply->body);
    ElfFacts facts;
    if (!read_facts(in, facts))
        return give_up(invalid_message);
    return facts;
}

void JailedFile::reject_reply()
{
    std::lock_guard lock(slot_->mutex());
    if (trouble_.empty())
        give_up(invalid_message);
}

std::vector<std::string> JailedFile::take_cuts(std::string_view what)
{
    std::lock_guard lock(slot_->mutex());
    std::vector<std::string> cuts;
    if (std::exchange(has_news_, false))
        if (auto reply = try_call(reader_take_cuts, {}, true)) {
            MessageReader in(reply->body);
            if (!read_texts(in, cuts))
                give_up(invalid_message);
        }
    std::vector<std::string> reasons = std::exchange(failures_, {});
    if (!trouble_.empty() && !std::exchange(trouble_taken_, true))
        reasons.push_back(trouble_);
    for (const std::string& reason : reasons)
        cuts.push_back("no " + std::string(what) + " for " + source_->path + ": " +
                       reason);
    return cuts;
}

} // namespace dt
