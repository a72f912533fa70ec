-- A timeline as text, of a run whose ranges name modules and operators: one step of two
-- layers, one with attention, both with an MLP.
return [=[
process 1 python
thread 1 main
range 0 1000 decode
range 10 100 {'Module': 'model.layers.0', 'Inputs': [[1, 8]]}
range 20 50 {'Module': 'model.layers.0.attn', 'Inputs': [[1, 8]]}
call 30 32 id=1 cudaLaunchKernel
range 60 90 {'Module': 'model.layers.0.mlp', 'Inputs': [[1, 8]]}
range 62 80 aten::mm, seq = 1, op_id = 5, sizes = [[1, 8], [8, 8]]
call 70 72 id=2 cudaLaunchKernel
range 110 200 {'Module': 'model.layers.1', 'Inputs': [[1, 8]]}
range 120 190 {'Module': 'model.layers.1.mlp', 'Inputs': [[1, 8]]}
range 130 170 aten::mm, seq = 2, op_id = 9, sizes = [[1, 8], [8, 8]]
call 140 142 id=3 cudaLaunchKernel
call 195 196 id=4 cudaLaunchKernel
call 900 901 id=5 cudaLaunchKernel
kernel 210 310 call=1 short=attn attn()
kernel 310 330 call=2 short=gemm gemm()
kernel 330 370 call=3 short=gemm gemm()
kernel 370 375 call=4 short=add add()
kernel 910 920 call=5 short=last last()
]=]
