"""Pure: the default law, from demand, concurrency and saturation to a wish. `law.step` is the door.

Everything here is counted per fleet or per engine, never per Pod, so no order of replicas matters.
"""
