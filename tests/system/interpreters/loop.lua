local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function tail(n) if n == 0 then return "end" end return tail(n - 1) end
local meta = setmetatable({}, {__add = function(a, b) return 7 end, __index = function(t, k) return k .. "!" end,
    __call = function(self, x) return x * 2 end, __lt = function() return true end, __concat = function() return "cat" end})
local list = {}
for i = 1, 50 do list[i] = (i * 37) % 50 end
table.sort(list, function(a, b) return a < b end)
local s = 0
for k, v in ipairs(list) do s = s + (v & 3) // 1 ~ 1 end
local ok, value = pcall(function() return meta + 1 end)
print(fib(12), tail(100), meta.x, meta(4), meta < meta, meta .. "x", ok, value, s, ("abc"):gsub("%w", function(c) return c:upper() end))
