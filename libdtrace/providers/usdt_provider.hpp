// SPDX-License-Identifier: MIT
// Static probes (USDT), which a program's author added to the program.
//
//   postgresql4711:postgres:exec_simple_query:query-start
//
// The parts are the provider with the pid, the module, the function, and the name. The
// name is the one in the note, with - instead of __.
//
// A provider without a pid matches in the processes of the session (-p, -c), or in all
// readable processes if the session has none. Several sites of a probe in one function
// fire the same D probe. D limits the length of names. A longer name is shown with a
// hash at its end.
//
// A file may contain definitions of its providers (usdt/definition_notes.hpp). They
// give the arguments, types and stability of probes. An invalid definition is reported
// once and ignored.
#pragma once

#include "libdtrace/compile/check/provider_definition.hpp"
#include "libdtrace/providers/process_probes.hpp"
#include "libdtrace/providers/provider.hpp"
#include "libdtrace/symbols/elf/static_probes.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

namespace dt {

enum class SearchScope {
    named,        // the processes that the user named, by -p or -c
    named_or_all, // the processes that the user named, or all processes if there are
                  // none
};

class UsdtProvider : public Provider {
public:
    // Returns the processes to search, without unreadable ones.
    using Candidates = std::function<std::vector<ProcessSymbols*>(SearchScope)>;

    UsdtProvider(Registry& registry, ProcessProbes& probes, Candidates candidates);
    std::string name() const override { return "usdt"; }
    ProviderAttributes attributes() const override;
    ProviderAttributes probe_attributes(const ProbeInfo& probe) const override;
    // Called after the dtrace, profile and pid providers. If the description names no
    // provider, searches only the session's processes, and only if no existing probe
    // matches.
    Outcome provide(const ProbeSpec& spec) override;
    // Returns whether the description may match static probes of later processes
    // (provide_in()).
    static bool may_mean(const ProbeSpec& spec);
    // Creates the matching probes in one process, given its current symbols. Returns
    // their ids in ascending order. Existing probes are included.
    std::vector<std::uint32_t> provide_in(const ProbeSpec& spec,
                                          const ProcessSymbols& symbols);
    // Returns whether provide_in() would find a probe.
    bool has_any(const ProbeSpec& spec, const ProcessSymbols& symbols);
    // Returns text with similar names for the end of an error message, or "".
    std::string hint(const ProbeSpec& spec);
    ArgumentTypes argument_types(const ProbeInfo& probe) const;
    // Returns and clears the messages about notes, definitions, operands and probes.
    std::vector<std::string> take_notes();

private:
    using Definition = std::shared_ptr<const ProviderDefinition>;
    struct Read {
        // If this has expired, the entry is invalid, because another image may be at
        // the same address.
        std::weak_ptr<ElfImage> image;
        StaticProbes probes;
        std::map<std::string, Definition>
            definitions; // indexed by provider; null: there is no valid definition
        // Providers whose definitions are from known/, not from the image.
        std::set<std::string> not_its_own;
    };

    const Read& of_image(const std::shared_ptr<ElfImage>& image);
    using Visit =
        std::function<bool(const Module&, const StaticProbe&)>; // returns false to stop
    void visit(const ProbeSpec& spec, const ProcessSymbols& symbols, const Visit& each);
    void define(const ElfImage& image, Read& read);
    // Returns the definition of a probe that passes n_passed arguments, or null. `by`
    // receives the provider's definition, which owns the result.
    const ProviderProbe* defined(const std::shared_ptr<ElfImage>& image,
                                 const StaticProbe& probe, std::size_t n_passed,
                                 Definition& by);
    void add(const ProcessSymbols& symbols, const Module& module,
             const StaticProbe& probe, std::vector<std::uint32_t>& ids);

    Registry& registry_;
    ProcessProbes& probes_;
    Candidates candidates_;
    std::map<const ElfImage*, Read> by_image_;
    // A deque, so that the addresses of its elements stay valid.
    std::deque<StaticArguments> arguments_;
    // Indexed by id, for the probes that have a definition.
    std::map<std::uint32_t, std::pair<Definition, const ProviderProbe*>> defined_;
    std::set<std::string> reported_;
    std::vector<std::string> notes_;
};

} // namespace dt
