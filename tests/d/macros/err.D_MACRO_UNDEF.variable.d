/* An unknown macro variable is refused. */
BEGIN { exit($nosuch); }
