/* SPDX-License-Identifier: MIT */
/*
 * holder LIBRARY reads a letter from each line of stdin. The letter o opens the library
 * (library.c), c closes it, and t calls its function turn() ten times. For each line,
 * the program prints the letter and a number. For t, the number is the last result of
 * turn(), which is the value of the semaphore. For o and c, it is 0.
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
