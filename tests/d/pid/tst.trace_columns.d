/*
 * trace prints numbers and strings in columns.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @replace: ^ +\d+ +\d+ ( *\S+) -> CPU ID \1
 */
pid$target:a.out:ten:entry { trace(arg0); trace((char)arg1); trace(probefunc); }
