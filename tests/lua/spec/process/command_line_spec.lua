-- Commands as they are shown, to oneself and to others.
local process = require "llmprof.process.child"


describe("llmprof.process.child", function()
  local function public(words) return table.concat(process.public_words(words, {}), " ") end

  it("quotes what a shell would read otherwise", function()
    assert.equal("a 'b c' '$(d)' 'e'\\''f' ''", process.shown { "a", "b c", "$(d)", "e'f", "" })
  end)

  it("shows others names, and values that can be no secret", function()
    assert.equal("python3 run.py --device cuda:0 --dtype bf16 --steps 64 --shape 1,3,640 -v on",
      public { "python3", "run.py", "--device", "cuda:0", "--dtype", "bf16", "--steps", "64",
        "--shape", "1,3,640", "-v", "on" })
  end)

  it("hides all other values", function()
    assert.equal("python3 run.py --token <...> --key=<...> <...> a.b=<...> --url <...>",
      public { "python3", "run.py", "--token", "hunter2", "--key=abc", "deadbeef", "a.b=x",
        "--url", "https://u:p@h/" })
    assert.equal("x <...> <...>", public { "x", "123456789012345678901", "cafe0000" })
  end)

  it("shows values of options that are named", function()
    assert.same({ "x", "--trace=cuda,nvtx", "--env=<...>" },
      process.public_words({ "x", "--trace=cuda,nvtx", "--env=A" }, { ["--trace"] = true }))
  end)
end)
