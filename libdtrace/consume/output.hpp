// SPDX-License-Identifier: MIT
// Destinations of the consumer's text.
//
// Printers append to text() and then call commit(). The text that was appended since
// the last commit() is a piece. A FileOutput writes the piece to its FILE. A
// HandlerOutput passes it to a callback. After the first failure, every further
// commit() fails and discards the text.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

struct ProbeData;
struct RecordDesc;
struct AggEntry;

// The origin of a piece of text. Each pointer may be null. The flags are the C API's
// DTRACE_BUFDATA_*.
struct Piece {
    const ProbeData* probe = nullptr;
    const RecordDesc* record = nullptr;
    const AggEntry* entry = nullptr;
    std::uint32_t flags = 0;
};
constexpr std::uint32_t piece_agg_key = 1, piece_agg_value = 2, piece_agg_format = 4,
                        piece_agg_last = 8;

class Output {
public:
    virtual ~Output() = default;
    std::string& text() { return text_; }
    Result<Ok> commit(const Piece& piece = {});
    // Flushes buffers, so that other code can write to the same file.
    virtual Result<Ok> flush() { return Ok{}; }
    // Implements freopen(). An empty path restores the original output.
    virtual Result<Ok> reopen(const std::string& path);
    // Implements ftruncate(). Affects only regular files.
    virtual Result<Ok> truncate() { return Ok{}; }
    // Returns whether each conversion must be committed as its own piece.
    virtual bool wants_pieces() const { return false; }
    // Returns whether this writes to a terminal. On a terminal, strings from targets
    // are escaped.
    virtual bool to_terminal() const { return false; }

protected:
    virtual Result<Ok> take(std::string_view text, const Piece& piece) = 0;

private:
    std::string text_;
    std::optional<Error> failure_; // the first failure
};

// Writes text to a stdio stream that the caller owns. The commands of system() write to
// the same file.
class FileOutput : public Output {
public:
    explicit FileOutput(std::FILE* file) : file_(file) {}
    Result<Ok> flush() override;
    Result<Ok> reopen(const std::string& path) override;
    Result<Ok> truncate() override;
    bool to_terminal() const override;

protected:
    Result<Ok> take(std::string_view text, const Piece& piece) override;

private:
    std::FILE* file_;
    Fd original_; // the stream's original descriptor while freopen() is in effect
};

// Passes each piece to a function. If the function returns false, the consumer stops.
class HandlerOutput : public Output {
public:
    using Handler = std::function<bool(std::string_view text, const Piece& piece)>;
    explicit HandlerOutput(Handler handler) : handler_(std::move(handler)) {}
    bool wants_pieces() const override { return true; }

protected:
    Result<Ok> take(std::string_view text, const Piece& piece) override;

private:
    Handler handler_;
};

// Collects text in memory, for tests and for callers that print it later.
class StringOutput : public Output {
public:
    std::string taken;

protected:
    Result<Ok> take(std::string_view text, const Piece& piece) override;
};

} // namespace dt
