"""A cube to pick up, and a box to put it into."""

from __future__ import annotations

import math
import random
from typing import Any

from yardarm.robots.twins.scenes.scene import ARM, FINGER, TABLE, THING, Scene

__all__ = ["BOX_AT", "GRASP", "PAN_X", "CubeAndBox"]

# In metres. The shoulder turns about PAN_X.
CUBE_HALF, CUBE_KG = 0.0125, 0.02
PAN_X = 0.0388
NEAREST, FARTHEST = 0.17, 0.23
RIGHTMOST, LEFTMOST = math.radians(-45), math.radians(12)
BOX_AT = (0.175, 0.165)
BOX_INSIDE, BOX_WALL, BOX_HEIGHT, BOX_FLOOR = 0.045, 0.003, 0.035, 0.002
# Slower than this, in m/s, the cube lies.
AT_REST = 0.05
GRASP = "grasp"
"""A place between the fingers: where the cube's middle belongs."""


class CubeAndBox(Scene):
    """The cube lies anywhere in reach of the arm, turned anyhow; the box stands to the left of it."""

    name = "cube_and_box"

    def furnish(self, mujoco: Any, spec: Any) -> None:
        """Add cube and box, and fingers that can hold."""
        # A grip is friction: without these, what is held slips away slowly.
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 20
        self._add_cube(mujoco, spec)
        self._add_box(mujoco, spec)
        hand, jaw = spec.body("gripper"), spec.body("moving_jaw_so101_v1")
        _add_pad(mujoco, hand, "fixed_pad", [-0.0130, -0.0002, -0.085], [0.003, 0.007, 0.018])
        _add_pad(mujoco, jaw, "moving_pad", [-0.0072, -0.0616, 0.019], [0.003, 0.018, 0.007])
        hand.add_site(name=GRASP, pos=[0.0070, -0.0002, -0.092], group=3)

    def place(self, model: Any, data: Any, seed: int) -> None:
        """Put the cube somewhere, turned anyhow."""
        draw = random.Random(seed)
        angle, away = draw.uniform(RIGHTMOST, LEFTMOST), draw.uniform(NEAREST, FARTHEST)
        turned = draw.uniform(-math.pi / 4, math.pi / 4)
        joint = model.joint("cube")
        at, moving = int(joint.qposadr[0]), int(joint.dofadr[0])
        data.qpos[at : at + 7] = [
            PAN_X + away * math.cos(angle),
            away * math.sin(angle),
            CUBE_HALF,
            *(math.cos(turned / 2), 0, 0, math.sin(turned / 2)),
        ]
        data.qvel[moving : moving + 6] = 0

    def success(self, model: Any, data: Any) -> bool:
        """Whether the cube lies in the box, and nothing holds it."""
        joint = model.joint("cube")
        at, moving = int(joint.qposadr[0]), int(joint.dofadr[0])
        x, y, z = (float(value) for value in data.qpos[at : at + 3])
        inside = abs(x - BOX_AT[0]) < BOX_INSIDE and abs(y - BOX_AT[1]) < BOX_INSIDE and z < BOX_HEIGHT
        lies = all(abs(float(speed)) < AT_REST for speed in data.qvel[moving : moving + 3])
        return inside and lies and not self._is_held(model, data)

    def _is_held(self, model: Any, data: Any) -> bool:
        pads = {model.geom(name).id for name in ("fixed_pad", "moving_pad")}
        cube = model.geom("cube").id
        touching = [set(pair.tolist()) for pair in data.contact.geom[: data.ncon]]
        return any(cube in pair and pads & pair for pair in touching)

    def _add_cube(self, mujoco: Any, spec: Any) -> None:
        cube = spec.worldbody.add_body(name="cube", pos=[0.25, 0, CUBE_HALF])
        cube.add_joint(name="cube", type=mujoco.mjtJoint.mjJNT_FREE)
        cube.add_geom(
            name="cube",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[CUBE_HALF] * 3,
            mass=CUBE_KG,
            rgba=[0.80, 0.16, 0.14, 1],
            contype=THING,
            conaffinity=TABLE | FINGER | THING,
            condim=4,
            friction=[1.0, 0.02, 0.0005],
            solref=[0.01, 1],
        )

    def _add_box(self, mujoco: Any, spec: Any) -> None:
        box = spec.worldbody.add_body(name="box", pos=[*BOX_AT, 0])
        reach, middle = BOX_INSIDE + BOX_WALL, BOX_HEIGHT / 2
        sides = {
            "box_floor": ([0, 0, BOX_FLOOR / 2], [reach, reach, BOX_FLOOR / 2]),
            **{
                f"box_{name}": ([x * reach, y * reach, middle], size)
                for name, x, y, size in (
                    ("near", -1, 0, [BOX_WALL, reach, middle]),
                    ("far", 1, 0, [BOX_WALL, reach, middle]),
                    ("left", 0, 1, [reach, BOX_WALL, middle]),
                    ("right", 0, -1, [reach, BOX_WALL, middle]),
                )
            },
        }
        for name, (place, size) in sides.items():
            box.add_geom(
                name=name,
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=place,
                size=size,
                rgba=[0.20, 0.42, 0.70, 1],
                contype=THING,
                conaffinity=ARM | FINGER,
                friction=[0.6, 0.01, 0.0005],
            )


def _add_pad(mujoco: Any, body: Any, name: str, place: list[float], size: list[float]) -> None:
    """The inner side of a finger: what touches the cube. Its mass is in the finger already."""
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=place,
        size=size,
        mass=0,
        group=3,
        contype=FINGER,
        conaffinity=0,
        condim=4,
        friction=[1.5, 0.05, 0.001],
        priority=1,
        solref=[0.01, 1],
        solimp=[0.95, 0.99, 0.001, 0.5, 2],
    )
