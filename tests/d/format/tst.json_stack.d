/*
 * In JSON, a stack is an array of frames, the innermost first.
 * @flags: -x format=json
 * @command: spin 2
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 * @replace: "id":\d+,"provider":"pid\d+" -> "id":I,"provider":"pidP"
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @replace: (?m)^calls.*\n ->
 */
pid$target:spin:work:entry { trace(ustack(2)); }
