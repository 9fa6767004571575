/*
 * An offset must be the beginning of an instruction.
 * @command: spin 1 1
 */
pid$target:a.out:main:1, pid$target:a.out:main:2, pid$target:a.out:main:3 { exit(0); }
