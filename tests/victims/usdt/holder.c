/* SPDX-License-Identifier: MIT */
/*
 * holder LIBRARY reads letters from stdin: o opens the library (library.c), c closes
 * it, and t calls the library's turn() ten times. Prints each letter, and the value of
 * the semaphore (0 for o and c).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	char line[16];
	void *library = NULL;

	if (argc < 2)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		int count = 0;

		if (line[0] == 'o')
			library = dlopen(argv[1], RTLD_NOW);
		if (line[0] == 'c')
			dlclose(library);
		if (line[0] == 't') {
			int (*turn)(int) = (int (*)(int))dlsym(library, "turn");

			for (int i = 1; turn && i <= 10; i++)
				count = turn(i);
		}
		printf("%c %d\n", line[0], count);
		fflush(stdout);
	}
	return 0;
}
