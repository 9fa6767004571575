/*
 * If a function has several names, the name with the fewest leading underscores is used.
 * @flags: -l
 * @command: spin 1
 * @replace: \d+ +pid\d+ +libc -> 17 pid libc
 */
pid$target:libc.so.6:*strdup:entry { }
