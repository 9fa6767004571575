// SPDX-License-Identifier: MIT
// Static probes (USDT): the ones that a program's author put into it.
//
//   postgresql4711:postgres:exec_simple_query:query-start
//   provider + pid   module   function that holds it   name in the note, - for __
//
// A description means the provider with its pid, or by its name alone: in the processes that
// the session has (-p, -c), and when it has none, in all that we may look at. A probe with
// several sites in one function is one probe. Names that are longer than D's are found as they
// are in the note, and as they are shown: their end is a hash.
//
// A file may carry definitions of its providers (usdt/definition_notes.hpp): then the probe
// shows the arguments in their order and with their types, and is as stable as they say. A
// definition that lies is told once, and the probe is as if there was none.
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

class UsdtProvider : public Provider {
public:
    // Whose probes are meant: the session's processes, or everybody if it has none and
    // that is allowed. A process that cannot be looked at is left out.
    using Candidates = std::function<std::vector<ProcessSymbols*>(bool everybody)>;

    UsdtProvider(Registry& registry, ProcessProbes& probes, Candidates candidates);
    std::string name() const override { return "usdt"; }
    ProviderAttributes attributes() const override;
    ProviderAttributes probe_attributes(const ProbeInfo& probe) const override;
    // Asked after all others. Where the provider is not named, only in the session's
    // processes, and when nothing else matches.
    Outcome provide(const ProbeSpec& spec) override;
    // Does it name a provider that may be one of ours? Then more may come: see provide_in().
    static bool may_mean(const ProbeSpec& spec);
    // Of one process as its symbols are now, with what it had before: ascending.
    std::vector<std::uint32_t> provide_in(const ProbeSpec& spec,
                                          const ProcessSymbols& symbols);
    // Would provide_in() find any?
    bool has_any(const ProbeSpec& spec, const ProcessSymbols& symbols);
    // Names that are there, and near a description's that matches nothing: how a sentence
    // about it ends.
    std::string hint(const ProbeSpec& spec);
    ArgumentTypes argument_types(const ProbeInfo& probe) const;
    // Notes that lie, operands that are of no known form: sentences.
    std::vector<std::string> take_notes();

private:
    using Definition = std::shared_ptr<const ProviderDefinition>;
    struct Read {
        std::weak_ptr<ElfImage> image; // another may come to lie where one was
        StaticProbes probes;
        std::map<std::string, Definition>
            definitions;                   // by provider; null: none that holds
        std::set<std::string> not_its_own; // known_providers.hpp
    };

    const Read& of_image(const std::shared_ptr<ElfImage>& image);
    using Visit =
        std::function<bool(const Module&, const StaticProbe&)>; // false: enough
    void visit(const ProbeSpec& spec, const ProcessSymbols& symbols, const Visit& each);
    void define(const ElfImage& image, Read& read);
    // Null: nothing that holds is said of it.
    const ProviderProbe* defined(const std::shared_ptr<ElfImage>& image,
                                 const StaticProbe& probe, std::size_t n_passed,
                                 Definition& by);
    void add(const ProcessSymbols& symbols, const Module& module,
             const StaticProbe& probe, std::vector<std::uint32_t>& ids);

    Registry& registry_;
    ProcessProbes& probes_;
    Candidates candidates_;
    std::map<const ElfImage*, Read> by_image_;
    std::deque<StaticArguments> arguments_; // their addresses stay
    // By id, of probes that one describes.
    std::map<std::uint32_t, std::pair<Definition, const ProviderProbe*>> defined_;
    std::set<std::string> told_;
    std::vector<std::string> notes_;
};

} // namespace dt
