// SPDX-License-Identifier: MIT
// Finds the declarations in the text of the libraries. Each declaration is at the start
// of a line:
//
//   translator psinfo_t < ...       inline int B_READ = ...       provider io {
#include "libdtrace/providers/kernel_libraries.hpp"

#include "base/each_part.hpp"

#include <algorithm>
#include <span>

namespace dt {

namespace {

constexpr KernelLibrary of_kernel[] = {
#include "kernel_libraries.inc"
};
constexpr KernelLibrary without_kernel[] = {
#include "recorded_libraries.inc"
#include "target_libraries.inc"
};

constexpr std::string_view depends = "#pragma D depends_on ",
                           translates = "translator ", stands = "inline ",
                           type_ending = "_t";

// Returns the name that a line declares, or "". The ending _t of a type is omitted, so
// that a program that contains curpsinfo also gets the library that declares psinfo_t.
std::string_view declared(std::string_view line)
{
    if (line.starts_with(translates)) {
        line.remove_prefix(translates.size());
        line = line.substr(0, line.find(' '));
        return line.substr(0, line.rfind(type_ending));
    }
    if (!line.starts_with(stands))
        return "";
    line = line.substr(0, line.find_first_of("[="));
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    return line.substr(line.find_last_of(" *") + 1);
}

bool declares_word_of(const KernelLibrary& library, std::string_view text)
{
    bool does = false;
    each_line(library.text, [&](std::string_view line) {
        const std::string_view word = declared(line);
        does |= !word.empty() && text.find(word) != std::string_view::npos;
    });
    return does;
}

bool defines(const KernelLibrary& library, const std::string& provider)
{
    return library.text.find("\nprovider " + provider + " {") != std::string_view::npos;
}

class Chosen {
public:
    explicit Chosen(std::span<const KernelLibrary> all) : all_(all) {}
    void add(const KernelLibrary& library)
    {
        auto is_it = [&](const KernelLibrary& one) { return one.name == library.name; };
        if (std::any_of(chosen_.begin(), chosen_.end(), is_it))
            return;
        each_line(library.text, [&](std::string_view line) {
            if (line.starts_with(depends))
                add_by_name(line.substr(line.rfind(' ') + 1));
        });
        chosen_.push_back(library);
    }
    std::vector<KernelLibrary> take() { return std::move(chosen_); }

private:
    // Does nothing if no library has this file name, because a #pragma may also name a
    // module.
    void add_by_name(std::string_view file)
    {
        for (const KernelLibrary& one : all_)
            if (std::string(one.name) + ".d" == file)
                add(one);
    }

    std::span<const KernelLibrary> all_;
    std::vector<KernelLibrary> chosen_;
};

std::vector<KernelLibrary> choose(std::span<const KernelLibrary> all,
                                  const std::set<std::string>& providers,
                                  std::string_view text)
{
    Chosen chosen(all);
    for (const KernelLibrary& one : all)
        if (declares_word_of(one, text) ||
            std::any_of(providers.begin(), providers.end(),
                        [&](const std::string& name) { return defines(one, name); }))
            chosen.add(one);
    return chosen.take();
}

} // namespace

std::vector<KernelLibrary> kernel_libraries(const std::set<std::string>& providers,
                                            std::string_view text)
{
    return choose(of_kernel, providers, text);
}

std::vector<KernelLibrary>
libraries_without_kernel(const std::set<std::string>& providers, std::string_view text)
{
    return choose(without_kernel, providers, text);
}

} // namespace dt
