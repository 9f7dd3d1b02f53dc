#!/bin/sh
# Train one ACT for the ten tasks of Meta-World's MT10, from the 39 raw values of their states. No GPU, no rendering.
#
#     sh recipes/metaworld_states.sh [FOLDER]   # under an hour on two cores; stop it at any time; the same command resumes it
set -eu
out=${1:-outputs/recipes/metaworld_states}

# A thousand solved episodes of the scripted experts, with other seeds than the evaluation's.
yardarm record --policy.type=expert --env.type=metaworld --env.task=mt10 --n_episodes=100 --only_successes=true \
  --seed=100000 --dataset.features=observation.environment_state --dataset.root="$out/data" --output_dir="$out/played"

# Resume a training that was started before.
if [ -e "$out/train/checkpoints/last" ]; then
  yardarm train --resume=true --config_path="$out/train"
else
  yardarm train --dataset.root="$out/data" --output_dir="$out/train" \
    --policy.type=act --task_vector=mt10 \
    --policy.chunk_size=16 --policy.n_action_steps=4 --policy.use_vae=false --policy.dropout=0 \
    --policy.dim_model=128 --policy.dim_feedforward=512 --policy.n_heads=4 --policy.n_encoder_layers=3 \
    --policy.normalization_mapping='{"ENV": "MEAN_STD", "ACTION": "MEAN_STD"}' \
    --policy.optimizer_lr=5e-4 --scheduler.name=cosine --scheduler.num_warmup_steps=500 --ema_decay=0.999 \
    --steps=16000 --batch_size=128 --save_freq=4000 --threads=1
fi

# Fifty episodes of each task, compared with the experts.
yardarm eval --policy.path="$out/train/checkpoints/last/pretrained_model" --against=expert \
  --env.type=metaworld --env.task=mt10 --eval.n_episodes=50 --output_dir="$out/eval"
