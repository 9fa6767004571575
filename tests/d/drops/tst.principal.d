/*
 * A record for which there is no space is counted as a drop.
 * @flags: -q -x bufsize=512 -x switchrate=10s
 * @stderr
 * @replace: drops on CPU \d+ -> drops on CPU C
 */
BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); }
BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); } BEGIN { trace("x"); }
BEGIN { exit(0); }
