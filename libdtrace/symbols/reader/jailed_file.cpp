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

Result<ReaderMessage> JailedFile::send(ReaderProcess& process, ReaderWord request,
                                       const MessageWriter& arguments, int fd)
{
    if (!slot_->unused.empty()) {
        MessageWriter unused;
        unused.list(std::exchange(slot_->unused, {}));
        if (auto closed = process.call(reader_close, unused.body(), -1, {}); !closed)
            return closed;
    }
    MessageWriter body;
    body.put(number_).raw(arguments.body().data(), arguments.body().size());
    return process.call(request, body.body(), fd, [this](const std::string& path) {
        return open_for_reader(path, *source_);
    });
}

Result<ReaderMessage> JailedFile::send_open(ReaderProcess& process)
{
    MessageWriter arguments;
    arguments.text(source_->path).text(source_->root);
    arguments.raw(source_->bytes.data(), source_->bytes.size());
    auto reply = send(process, reader_open, arguments, source_->fd.get());
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
    if (opened_in_ != slot_->n_started() || request == reader_open)
        reply = send_open(**process);
    if (reply && request != reader_open)
        reply = send(**process, request, arguments, -1);
    if (reply)
        has_news_ = reply->has_news;
    if (reply || reply.error().code != Code::gone)
        return reply;
    if (may_repeat && !(*process)->timed_out() && reopen_ == Reopen::allowed)
        return try_call(request, arguments, false);
    return give_up(((*process)->timed_out() ? "it " : "its debug data ") +
                   (*process)->why_ended());
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

Result<ElfFacts> JailedFile::open()
{
    auto reply = call(reader_open);
    if (!reply)
        return reply.error();
    MessageReader in(reply->body);
    ElfFacts facts;
    if (!read_facts(in, facts)) {
        reject_reply();
        return Error{Code::corrupt, source_->path + ": " + trouble_};
    }
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
