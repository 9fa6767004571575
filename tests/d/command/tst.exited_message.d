/*
 * dtrace reports that the target has exited.
 * @command: spin 1 1
 * @stderr
 * @replace: ^calls .*\n -> 
 * @replace: pid \d+ -> pid N
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
END { }
