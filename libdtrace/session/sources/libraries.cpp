// SPDX-License-Identifier: MIT
#include "libdtrace/session/sources/libraries.hpp"

#include "libdtrace/compile/compiler.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dt {

namespace fs = std::filesystem;

static Result<std::vector<std::string>> paths_in(const std::string& folder)
{
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error))
        if (at->path().extension() == ".d" && at->is_regular_file(error))
            paths.push_back(at->path().string());
    if (error)
        return errno_error("read the D libraries in " + folder, error.value());
    std::sort(paths.begin(), paths.end());
    return paths;
}

static Result<Library> read_library(const std::string& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || (text.fail() && fs::file_size(path) != 0))
        return errno_error("D library " + path);
    return Library{path, std::move(text).str()};
}

// Sorts the libraries depth first. Dependencies are circular if a library is reached
// again during its own visit.
class InOrder {
public:
    explicit InOrder(std::vector<Library> all)
        : all_(std::move(all)), seen_(all_.size())
    {
    }

    Result<std::vector<Library>> take()
    {
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (auto visited = visit(i); !visited)
                return visited.error();
        std::vector<Library> ordered;
        for (std::size_t i : order_)
            ordered.push_back(std::move(all_[i]));
        return ordered;
    }

private:
    enum class Seen { no, now, before };

    Result<Ok> visit(std::size_t i)
    {
        if (seen_[i] == Seen::before)
            return Ok{};
        way_.push_back(all_[i].name());
        if (seen_[i] == Seen::now)
            return Error{Code::invalid, "D libraries depend on each other: " + way()};
        seen_[i] = Seen::now;
        for (const std::string& name : library_dependencies(all_[i].text)) {
            auto needed =
                std::find_if(all_.begin(), all_.end(), [&name](const Library& library) {
                    return library.name() == name;
                });
            if (needed == all_.end())
                return Error{Code::invalid, "\"" + all_[i].path +
                                                "\": program requires library " + name};
            auto visited = visit(static_cast<std::size_t>(needed - all_.begin()));
            if (!visited)
                return visited;
        }
        seen_[i] = Seen::before;
        way_.pop_back();
        order_.push_back(i);
        return Ok{};
    }

    std::string way() const
    {
        auto first = std::find(way_.begin(), way_.end(), way_.back());
        std::string text = *first;
        while (++first != way_.end())
            text += " -> " + *first;
        return text;
    }

    std::vector<Library> all_;
    std::vector<Seen> seen_;
    std::vector<std::size_t> order_;
    std::vector<std::string> way_;
};

Result<std::vector<Library>> libraries_in(const std::vector<std::string>& folders)
{
    std::vector<Library> all;
    for (const std::string& folder : folders) {
        auto paths = paths_in(folder);
        if (!paths)
            return paths.error();
        for (const std::string& path : *paths) {
            auto library = read_library(path);
            if (!library)
                return library.error();
            all.push_back(std::move(*library));
        }
    }
    return InOrder(std::move(all)).take();
}

} // namespace dt
