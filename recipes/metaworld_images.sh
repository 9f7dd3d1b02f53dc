#!/bin/sh
# Train one ACT for three tasks of Meta-World, from images of 96 pixels and the arm's state. No GPU needed.
#
#     sh recipes/metaworld_images.sh [FOLDER]   # about two hours on two cores; stop it at any time; the same command resumes it
set -eu
out=${1:-outputs/recipes/metaworld_images}

# 240 solved episodes of the scripted experts, rendered at every step, which takes most of the first quarter of an hour.
yardarm record --policy.type=expert --env.type=metaworld --env.task=reach-v3,drawer-close-v3,handle-press-v3 \
  --n_episodes=80 --only_successes=true --seed=100000 --dataset.image_size=96 \
  --dataset.features=observation.image,observation.state --dataset.root="$out/data" --output_dir="$out/played"

# Resume a training that was started before. The backbone starts untrained: ImageNet's weights would be a download.
if [ -e "$out/train/checkpoints/last" ]; then
  yardarm train --resume=true --config_path="$out/train"
else
  yardarm train --dataset.root="$out/data" --output_dir="$out/train" \
    --policy.type=act --task_vector=tasks \
    --policy.chunk_size=16 --policy.n_action_steps=8 --policy.use_vae=false --policy.pretrained_backbone_weights=null \
    --policy.dim_model=128 --policy.dim_feedforward=512 --policy.n_heads=4 --policy.n_encoder_layers=2 \
    --policy.optimizer_lr=2e-4 --policy.optimizer_lr_backbone=2e-4 \
    --scheduler.name=cosine --scheduler.num_warmup_steps=200 --ema_decay=0.998 \
    --steps=4000 --batch_size=16 --log_freq=50 --save_freq=1000 --threads=1 --num_workers=1
fi

yardarm eval --policy.path="$out/train/checkpoints/last/pretrained_model" --env.type=metaworld \
  --env.task=reach-v3,drawer-close-v3,handle-press-v3 --env.observation_height=96 --env.observation_width=96 \
  --eval.n_episodes=50 --output_dir="$out/eval"
