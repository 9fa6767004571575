/*
 * A function with several names has the one with the fewest leading underscores: strdup, not __strdup.
 * @flags: -l
 * @command: spin 1
 * @replace: \d+ +pid\d+ +libc -> 17 pid libc
 */
pid$target:libc.so.6:*strdup:entry { }
