/*
 * #ident and pragmas that are not D's are ignored.
 * @flags: -q
 */
#ident "@(#)a.d"
#pragma ident "@(#)b.d"
#pragma once
#
BEGIN { printf("on\n"); exit(0); }
