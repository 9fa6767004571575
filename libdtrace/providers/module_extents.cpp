// SPDX-License-Identifier: MIT
#include "libdtrace/providers/module_extents.hpp"

#include "libdtrace/symbols/elf/code_places.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <elf.h>
#include <exception>
#include <optional>
#include <thread>

namespace dt {

namespace {

constexpr std::uint64_t piece_bytes = 256 << 10;
constexpr std::uint64_t largest_text_bytes = std::uint64_t{1} << 29;
constexpr unsigned max_threads = 4;
constexpr std::uint64_t words_at_once = 64;

struct Piece {
    AddressRange range;
    std::span<const CodeStart> starts;
};

// Runs work(thread, i) for each i below n, until given_up is set. Uses at most
// n_threads threads, including the caller. Rethrows exceptions of work().
template <class F>
void share(std::size_t n, unsigned n_threads, const std::atomic<bool>& given_up,
           const F& work)
{
    std::atomic<std::size_t> next = 0;
    std::vector<std::exception_ptr> failed(n_threads); // for example, std::bad_alloc
    auto run = [&](unsigned thread) {
        try {
            for (std::size_t i = next++; i < n && !given_up; i = next++)
                work(thread, i);
        } catch (...) {
            failed[thread] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    try {
        for (unsigned thread = 1; thread < n_threads; ++thread)
            others.emplace_back(run, thread);
    } catch (const std::exception&) { // the threads that were started do all the work
    }
    run(0);
    for (std::thread& other : others)
        other.join();
    for (const std::exception_ptr& each : failed)
        if (each)
            std::rethrow_exception(each);
}

class Mapper {
public:
    Mapper(ElfImage& image, const std::atomic<bool>& given_up)
        : image_(image), given_up_(given_up), places_(image.code_places())
    {
    }

    std::unique_ptr<ExtentMap> run()
    {
        if (image_.facts().machine != EM_X86_64 || places_.text.empty())
            return nullptr;
        begin_ = {places_.text.front().addr};
        const AddressRange& last = places_.text.back();
        n_bytes_ = last.addr + last.n_bytes - begin_.value;
        if (n_bytes_ > largest_text_bytes)
            return nullptr;
        list_starts();
        cut(places_.text, pieces_);
        std::optional<Sweep> swept = sweep_all();
        if (!swept)
            return nullptr;
        known_.words = words_of_data();
        if (given_up_)
            return nullptr;
        for (std::uint64_t at : places_.relocated)
            known_.words.push_back({at});
        for (const AddressRange& range : places_.sized)
            known_.functions.push_back({{range.addr}, {range.addr + range.n_bytes}});
        known_.absolute = places_.absolute;
        for (const AddressRange& range : places_.restartable)
            known_.sections.push_back({{range.addr}, {range.addr + range.n_bytes}});
        return std::make_unique<ExtentMap>(
            std::move(*swept), known_,
            [this](TargetAddr from, std::span<std::byte> into) {
                if (!is_loaded(from.value, into.size()))
                    return false;
                auto bytes = image_.bytes(from.value, into.size());
                if (bytes)
                    std::memcpy(into.data(), bytes->data(), into.size());
                return bool(bytes);
            });
    }

private:
    unsigned n_threads(std::size_t n_pieces) const
    {
        std::size_t n =
            std::min<std::size_t>(std::thread::hardware_concurrency(), max_threads);
        return static_cast<unsigned>(std::clamp<std::size_t>(n, 1, n_pieces + 1));
    }

    bool is_loaded(std::uint64_t at, std::size_t n) const
    {
        for (const auto* ranges : {&places_.data, &places_.text}) {
            auto after =
                std::upper_bound(ranges->begin(), ranges->end(), at,
                                 [](std::uint64_t value, const AddressRange& r) {
                                     return value < r.addr;
                                 });
            if (after != ranges->begin() && (after - 1)->contains(at) &&
                n <= (after - 1)->n_bytes - (at - (after - 1)->addr))
                return true;
        }
        return false;
    }

    // Merges the addresses of functions, labels, symbols and starts of text ranges. A
    // function may also be a label.
    void list_starts()
    {
        std::vector<CodeStart>& starts = known_.starts;
        starts.reserve(places_.functions.size() + places_.labels.size());
        for (const AddressRange& range : places_.text)
            starts.push_back({{range.addr}, true, false});
        for (std::uint64_t at : places_.functions)
            starts.push_back({{at}, true});
        for (std::uint64_t at : places_.labels)
            starts.push_back({{at}, false});
        for (std::uint64_t at : places_.symbols)
            starts.push_back({{at}, false, false});
        std::sort(starts.begin(), starts.end(),
                  [](const CodeStart& a, const CodeStart& b) {
                      if (a.at != b.at)
                          return a.at < b.at;
                      return a.function != b.function ? a.function : a.code > b.code;
                  });
        for (std::size_t i = 1; i < starts.size(); ++i)
            if (starts[i].at == starts[i - 1].at && starts[i].code)
                starts[i - 1].code = true;
        starts.erase(std::unique(starts.begin(), starts.end(),
                                 [](const CodeStart& a, const CodeStart& b) {
                                     return a.at == b.at;
                                 }),
                     starts.end());
    }

    // Divides the text into pieces. Each piece ends where a function starts and has at
    // least piece_bytes bytes. The last piece of a range may be smaller.
    void cut(const std::vector<AddressRange>& text, std::vector<Piece>& pieces)
    {
        std::span<const CodeStart> starts = known_.starts;
        for (const AddressRange& range : text) {
            std::uint64_t end = range.addr + range.n_bytes;
            for (std::uint64_t at = range.addr; at < end;) {
                std::size_t n = 0;
                std::uint64_t to = end;
                for (; n < starts.size() && starts[n].at.value < end; ++n) {
                    if (starts[n].function && starts[n].at.value - at >= piece_bytes) {
                        to = starts[n].at.value;
                        break;
                    }
                }
                pieces.push_back({{at, to - at}, starts.first(n)});
                starts = starts.subspan(n);
                at = to;
            }
        }
    }

    std::optional<Sweep> sweep_all()
    {
        std::vector<std::optional<Sweep>> parts(n_threads(pieces_.size()));
        std::vector<std::vector<std::byte>> buffers(parts.size());
        std::atomic<bool> failed = false;
        share(pieces_.size(), static_cast<unsigned>(parts.size()), given_up_,
              [&](unsigned thread, std::size_t i) {
                  if (!parts[thread])
                      parts[thread].emplace(begin_, n_bytes_);
                  const Piece& piece = pieces_[i];
                  buffers[thread].resize(std::max<std::size_t>(buffers[thread].size(),
                                                               piece.range.n_bytes));
                  std::span text =
                      std::span(buffers[thread]).first(piece.range.n_bytes);
                  if (!image_.read(piece.range.addr, text))
                      failed = true;
                  else
                      sweep(x86_64, text, {piece.range.addr}, piece.starts,
                            *parts[thread]);
              });
        std::optional<Sweep> all;
        for (std::optional<Sweep>& part : parts) {
            if (!all)
                all = std::move(part);
            else if (part)
                all->join(std::move(*part));
        }
        if (failed)
            return std::nullopt;
        return all;
    }

    std::vector<TargetAddr> words_of_data() const
    {
        std::vector<AddressRange> pieces;
        for (const AddressRange& range : places_.data) {
            std::uint64_t end = range.addr + range.n_bytes;
            for (std::uint64_t at = (range.addr + 7) & ~std::uint64_t{7}; at + 8 <= end;
                 at += piece_bytes)
                pieces.push_back({at, std::min(piece_bytes, end - at)});
        }
        std::vector<std::vector<TargetAddr>> parts(n_threads(pieces.size()));
        std::vector<std::vector<std::uint64_t>> buffers(parts.size());
        share(pieces.size(), static_cast<unsigned>(parts.size()), given_up_,
              [&](unsigned thread, std::size_t i) {
                  std::vector<std::uint64_t>& words = buffers[thread];
                  words.resize(piece_bytes / 8);
                  std::span part = std::span(words).first(pieces[i].n_bytes / 8);
                  if (image_.read(pieces[i].addr, std::as_writable_bytes(part)))
                      search(part, parts[thread]);
              });
        std::vector<TargetAddr> found;
        for (const std::vector<TargetAddr>& part : parts)
            found.insert(found.end(), part.begin(), part.end());
        return found;
    }

    // Finds the words that are addresses of text. Tests a block of words at once,
    // because most data contains no addresses.
    void search(std::span<const std::uint64_t> words,
                std::vector<TargetAddr>& found) const
    {
        for (; !words.empty();) {
            auto run = words.first(std::min<std::size_t>(words.size(), words_at_once));
            words = words.subspan(run.size());
            std::uint64_t any = 0;
            for (std::uint64_t word : run)
                any |= word - begin_.value < n_bytes_ ? 1U : 0U;
            if (any == 0)
                continue;
            for (std::uint64_t word : run)
                if (word - begin_.value < n_bytes_)
                    found.push_back({word});
        }
    }

    ElfImage& image_;
    const std::atomic<bool>& given_up_;
    CodePlaces places_;
    KnownCode known_;
    TargetAddr begin_;
    std::uint64_t n_bytes_ = 0;
    std::vector<Piece> pieces_;
};

} // namespace

std::unique_ptr<ExtentMap> map_extents(ElfImage& image,
                                       const std::atomic<bool>& given_up)
{
    return Mapper(image, given_up).run();
}

std::unique_ptr<ExtentMap> map_extents(ElfImage& image)
{
    return map_extents(image, false);
}

} // namespace dt
