/*
 * If a function throws, its entry probe fires, but its return probe does not.
 * @command: thrower 300
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:*work*:entry { @entered = count(); }
pid$target:a.out:*work*:return { @returned = count(); }
END { printa("%@d\n", @entered); printa("%@d\n", @returned); }
