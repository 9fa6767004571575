/*
 * The end of the target is reported.
 * @command: spin 1 1
 * @stderr
 * @replace: ^calls .*\n -> 
 * @replace: pid \d+ -> pid N
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
END { }
