/*
 * A record is counted as a drop if there is no space for it.
 * @flags: -q -x bufsize=512 -x switchrate=10s
 * @stderr
 * @replace: drops on CPU \d+ -> drops on CPU C
 */
BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); }
BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); }
BEGIN { exit(0); }
