// SPDX-License-Identifier: MIT
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/fuzz/dof/seeds.hpp"

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: dof_seeds DIRECTORY\n");
        return 2;
    }
    unsigned n = 0;
    for (const auto& image : dif_test::dof_seeds()) {
        std::ofstream out(std::string(argv[1]) + "/seed" + std::to_string(n++));
        out.write(image.data(), static_cast<std::streamsize>(image.size()));
        if (!out)
            return 1;
    }
    return 0;
}
