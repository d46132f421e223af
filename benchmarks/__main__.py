"""Run all benchmarks of ordinary length: `make bench`."""

from benchmarks import kernels, reading, startup, verifier

for module in (kernels, verifier, reading, startup):
    title = (module.__doc__ or "").splitlines()[0]
    print(f"\n{module.__name__.removeprefix('benchmarks.')}: {title}")
    for name, value in module.measure().items():
        print(f"  {name}: {value}")
