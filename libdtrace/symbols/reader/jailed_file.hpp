// SPDX-License-Identifier: MIT
// A file that is open in a reader process. If the process was replaced, the file is
// opened again.
//
// If the reader ends during a request, the request is repeated once in a new process,
// because something other than the file may have ended the reader. If that process ends
// as well, or if the request exceeded the time limit, the file is not read again.
#pragma once

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"
#include "libdtrace/symbols/reader/reader_slot.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class JailedFile {
public:
    // Whether the file may be opened again in a new process.
    enum class Reopen { allowed, forbidden };

    // `number` identifies the file in the process.
    JailedFile(std::shared_ptr<ReaderSlot> slot,
               std::shared_ptr<const ElfSource> source, std::uint64_t number)
        : slot_(std::move(slot)), source_(std::move(source)), number_(number)
    {
    }
    ~JailedFile(); // the next request to the process closes the file there
    JailedFile(const JailedFile&) = delete;
    JailedFile& operator=(const JailedFile&) = delete;

    // Opens files that have the same slot. The process reads a file while dtrace handles
    // the facts of the previous one. Errors: those of ElfImage::open() and
    // ReaderProcess::start(), and Code::corrupt if the reader process ended while it
    // read the file.
    static std::vector<Result<ElfFacts>> open_all(std::span<JailedFile* const> files);
    // Opens this file. Has the same errors.
    Result<ElfFacts> open();
    // Sends a request. `arguments` follow the number of the file. Any thread may call
    // this function. Errors: Code::corrupt if the reader process ended while it read
    // the file, and the errors that the reader returns. take_cuts() also reports these
    // errors.
    Result<ReaderMessage> call(ReaderWord request, const MessageWriter& arguments = {});
    // After this call, the file is not opened again in a new process, because the
    // results that the old process returned would have no meaning there.
    void forbid_reopening() { reopen_ = Reopen::forbidden; }

    const std::shared_ptr<const ElfSource>& source() const { return source_; }
    // Returns new messages about truncated tables (ElfTables::take_cuts()). If the file
    // is no longer read, also returns the reason. `what` is the kind of data that is
    // missing then.
    std::vector<std::string> take_cuts(std::string_view what);
    // Records that a reply was malformed. The file is not read again.
    void reject_reply();

private:
    Result<Ok> post_open(ReaderProcess& process);
    Result<ReaderMessage> finish_open(ReaderProcess& process);
    Result<ElfFacts> facts_in(const Result<ReaderMessage>& reply);
    static std::size_t post_all(ReaderProcess& process,
                                std::span<JailedFile* const> files);
    Result<ReaderMessage> try_call(ReaderWord request, const MessageWriter& arguments,
                                   bool may_repeat);
    Result<Ok> post(ReaderProcess& process, ReaderWord request,
                    const MessageWriter& arguments, int fd);
    Result<ReaderMessage> finish(ReaderProcess& process);
    Result<ReaderMessage> handle_end(Result<ReaderMessage> reply,
                                     ReaderProcess& process, ReaderWord request,
                                     const MessageWriter& arguments, bool may_repeat);
    Error give_up(std::string why);

    std::shared_ptr<ReaderSlot> slot_;
    std::shared_ptr<const ElfSource> source_;
    const std::uint64_t number_;
    Reopen reopen_ = Reopen::allowed;
    // The mutex of slot_ protects these members.
    std::uint64_t opened_in_ = 0; // ReaderSlot::n_started() when the file was opened
    std::string trouble_;         // why the file is no longer read, or ""
    bool trouble_taken_ = false;
    std::vector<std::string> failures_; // other errors that the reader returned
    bool has_news_ = false;             // the process has new messages for take_cuts()
};

} // namespace dt
