#!/bin/sh
# Train a small SmolVLA from nothing for four tasks of Meta-World that only their instructions tell apart, and see whether
# it listens. No GPU needed. Run it in the project's folder, in an environment with yardarm[metaworld,vla].
#
#     sh recipes/metaworld_language.sh [FOLDER]   # hours on two cores; stop it at any time; the same command resumes it
set -eu
out=${1:-outputs/recipes/metaworld_language}
# Faucets in the same places, drawers half open: for one seed, the first images of a pair are equal to the bit.
world="--env.type=metaworld --env.task=faucet-open-v3,faucet-close-v3,drawer-open-v3,drawer-close-v3
  --env.alike=true --env.shadows=false --env.observation_height=96 --env.observation_width=96"

# 480 solved episodes of the scripted experts, whose hand trembles and is pushed aside now and then. Each action is what the
# expert would have done there, so that the policy learns to come back, and not to tremble.
# shellcheck disable=SC2086
PYTHONPATH=examples yardarm record --policy.type=noisy_expert:NoisyExpert --policy.noise=0.25 --policy.drift=0.4 $world \
  --n_episodes=120 --only_successes=true --seed=100000 --dataset.video=false --dataset.labels=expert \
  --dataset.features=observation.image,observation.state --dataset.root="$out/data" --output_dir="$out/played"

# A vision-language model of 96 pixels and 87 words, from random weights. Resume a training that was started before.
if [ -e "$out/train/checkpoints/last" ]; then
  yardarm train --resume=true --config_path="$out/train"
else
  yardarm train --dataset.root="$out/data" --output_dir="$out/train" \
    --policy.type=smolvla --policy.vlm_model_name=recipes/smolvla_tiny --policy.num_vlm_layers=4 \
    --policy.freeze_vision_encoder=false --policy.train_expert_only=false --policy.expert_width_multiplier=1.0 \
    --policy.resize_imgs_with_padding='[96,96]' --policy.max_state_dim=4 --policy.max_action_dim=4 \
    --policy.chunk_size=16 --policy.n_action_steps=8 \
    --policy.optimizer_lr=1e-3 --policy.scheduler_warmup_steps=200 --policy.scheduler_decay_lr=1e-5 --ema_decay=0.995 \
    --steps=4500 --batch_size=32 --log_freq=50 --save_freq=500 --threads=1 --num_workers=1
fi

# The same episodes with the right instructions, with those of the opposite task, and with none.
told() {
  name=$1
  shift
  # shellcheck disable=SC2086
  yardarm eval --policy.path="$out/train/checkpoints/last/pretrained_model" $world --env.episode_length=200 \
    --eval.n_episodes=50 --output_dir="$out/$name" "$@"
}
told right
told swapped --env.instruction='{
  "faucet-open-v3": "Rotate the faucet clockwise", "faucet-close-v3": "Rotate the faucet counter-clockwise",
  "drawer-open-v3": "Push and close a drawer", "drawer-close-v3": "Open a drawer"}'
told empty --env.instruction=
yardarm compare "$out/right" "$out/swapped"
yardarm compare "$out/right" "$out/empty"
