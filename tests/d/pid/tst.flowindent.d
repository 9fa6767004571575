/*
 * -F indents the rows by call depth.
 * @flags: -F
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @replace: ^ +\d+ -> CPU
 */
pid$target:a.out:outer:entry, pid$target:a.out:outer:return,
pid$target:a.out:work:entry, pid$target:a.out:work:return { }
